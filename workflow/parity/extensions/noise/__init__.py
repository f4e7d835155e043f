"""OS noise: CPU limits and neighbours (Levy and Ferreira, SAND2021-6125 C)."""
