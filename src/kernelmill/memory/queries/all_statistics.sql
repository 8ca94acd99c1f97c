SELECT backend, count, mean, squares FROM reward_statistics
