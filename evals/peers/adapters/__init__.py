"""What runs inside the environments of other systems: nothing here may import the rest of this repository."""
