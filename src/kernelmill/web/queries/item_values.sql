SELECT item, stage, value, visits FROM item_values
WHERE family = '' AND item IN (SELECT value FROM json_each(:items))
