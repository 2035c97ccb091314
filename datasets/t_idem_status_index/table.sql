CREATE TABLE `t_idem_status_index` (
  `biz_key` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `msg_id` bigint unsigned NOT NULL,
  `event_day` date NOT NULL,
  `status` enum('PENDING','DONE','FAILED') NOT NULL,
  `token` int unsigned NOT NULL DEFAULT '0',
  `owner` int unsigned NOT NULL DEFAULT '0',
  `lease_until` datetime(3) NOT NULL,
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`biz_key`,`msg_id`,`event_day`),
  KEY `k_status_lease` (`status`,`lease_until`)
) ENGINE=InnoDB
/*!50500 PARTITION BY RANGE  COLUMNS(event_day)
(PARTITION p20260101 VALUES LESS THAN ('2026-01-02') ENGINE = InnoDB,
 PARTITION p20260102 VALUES LESS THAN ('2026-01-03') ENGINE = InnoDB) */
