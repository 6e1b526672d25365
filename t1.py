import numpy as np, sys
from dueling import *
class Late:
    def __init__(self,K,rng): self.K=K; self.t=0
    def reset(self): pass
    def advance(self):
        return 0 if self.t<100 else 10**int(sys.argv[1])
    def feedback(self,u): self.t+=1
L=10**int(sys.argv[1])
class Late:
    def __init__(self,K,rng): self.K=K; self.t=0; self.L=L
    def reset(self): pass
    def advance(self):
        return 0 if self.t<100 else self.L
    def feedback(self,u): self.t+=1
for red in (Single,Sparring,MultiSBM,Doubler,Champion):
    g = Cardinal([.8,.3]) if red is Single else Utilities([.8,.3])
    try:
        print(red.__name__, simulate(g, red(Late), 300, 1, workers=1), flush=True)
    except Exception as e: print(red.__name__, type(e).__name__, e, flush=True)
