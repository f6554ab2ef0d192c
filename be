heapwire-prof: cannot read ./load: No such file or directory
