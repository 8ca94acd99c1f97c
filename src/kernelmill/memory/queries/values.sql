SELECT item, family, value, visits FROM item_values
WHERE stage = :role AND item IN (SELECT value FROM json_each(:ids))
