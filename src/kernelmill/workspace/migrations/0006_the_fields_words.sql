-- Stored records have the field's words, and a target has one name.
UPDATE verdicts SET body = with_keys(
    body, 'eager_ms', 'baseline_ms', 'over_eager', 'over_baseline', 'flavour', 'distribution'
);
UPDATE tasks SET body = with_keys(body, 'flavours', 'distributions');
UPDATE campaigns SET settings = json_set(settings, '$.backend', CASE json_extract(settings, '$.backend')
    WHEN 'pallas' THEN 'pallas:v5e' WHEN 'rvv' THEN 'rvv:vlen256' ELSE json_extract(settings, '$.backend')
END);
-- Facts of a guide are identified by their target, and seeded again when a campaign begins.
DELETE FROM items WHERE kind = 'api' AND backend IN ('pallas', 'rvv');
UPDATE items SET backend = 'pallas:v5e' WHERE backend = 'pallas';
UPDATE items SET backend = 'rvv:vlen256' WHERE backend = 'rvv';
UPDATE OR REPLACE reward_statistics SET backend = 'pallas:v5e' WHERE backend = 'pallas';
UPDATE OR REPLACE reward_statistics SET backend = 'rvv:vlen256' WHERE backend = 'rvv';
