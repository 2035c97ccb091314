CREATE TABLE `t_idem_hash` (
  `dedupe_key` binary(16) NOT NULL,
  `event_day` date NOT NULL,
  `status` enum('PENDING','DONE','FAILED') NOT NULL,
  `token` int unsigned NOT NULL DEFAULT '0',
  `owner` int unsigned NOT NULL DEFAULT '0',
  `lease_until` datetime(3) NOT NULL,
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`dedupe_key`,`event_day`)
) ENGINE=InnoDB
/*!50500 PARTITION BY RANGE  COLUMNS(event_day)
(PARTITION p20260101 VALUES LESS THAN ('2026-01-02') ENGINE = InnoDB,
 PARTITION p20260102 VALUES LESS THAN ('2026-01-03') ENGINE = InnoDB) */
