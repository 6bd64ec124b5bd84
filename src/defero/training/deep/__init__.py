"""Deep networks: one loop on Lightning Fabric, fed from the device or from disk, that goes on after a kill."""
