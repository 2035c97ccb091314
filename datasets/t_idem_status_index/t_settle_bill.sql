-- The business table: one row for each message that took effect. Its key is the message's own, so that a
-- second effect of one message is refused by the server and not by the program.
CREATE TABLE `t_settle_bill` (
  `order_id` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `msg_id` bigint unsigned NOT NULL,
  `amount` decimal(12,2) NOT NULL,
  `status` enum('SETTLED','REFUNDED') NOT NULL,
  `settled_at` datetime(3) NOT NULL,
  PRIMARY KEY (`order_id`,`msg_id`)
) ENGINE=InnoDB
