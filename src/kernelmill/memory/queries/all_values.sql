SELECT item, stage, family, value, visits FROM item_values ORDER BY item, stage, family
