SELECT count, mean, squares FROM reward_statistics WHERE backend = :backend
