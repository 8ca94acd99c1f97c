SELECT stage, family, value, visits FROM item_values WHERE item = :item ORDER BY stage, family
