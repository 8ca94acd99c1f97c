INSERT INTO reward_statistics (backend, count, mean, squares)
VALUES (:backend, :count, :mean, :squares)
ON CONFLICT (backend) DO UPDATE
SET count = excluded.count, mean = excluded.mean, squares = excluded.squares
