"""Durable executions: child runs that outlive the request, the turn and the server that started them."""
