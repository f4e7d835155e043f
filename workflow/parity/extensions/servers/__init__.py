"""File systems of servers and the client that mounts them (Yildirim et al. 2021)."""
