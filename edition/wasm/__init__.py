"""The package's algorithms in WebAssembly, for the pages that one can play."""
