CREATE TABLE `t_idempotent` (
  `biz_key` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `msg_id` bigint NOT NULL,
  `status` enum('PENDING','DONE') NOT NULL,
  PRIMARY KEY (`biz_key`,`msg_id`)
) ENGINE=InnoDB
