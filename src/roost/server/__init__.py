"""The gateway's door for clients: WebSocket and HTTP on one port."""
