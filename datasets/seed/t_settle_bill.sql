-- The article's business table: no unique key but its own number, so that nothing but the idempotency
-- row stands between a redelivered message and a second settlement.
CREATE TABLE `t_settle_bill` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `order_id` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `amount` decimal(12,2) NOT NULL,
  `status` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (`id`),
  KEY `k_order` (`order_id`)
) ENGINE=InnoDB
