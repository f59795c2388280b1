# Kernels that are compiled once per instruction set. Each object library adds itself to DKHO_KERN_OBJECTS.
set(DKHO_KERN_OBJECTS)
