"""The short form of tests/evidence/fleet_simulator.py: what holds of claims and results holds for some hundred seeds, and seeded faults are found."""
import sys

import _paths  # noqa: F401
import fleet_simulator

SEEDS = range(600)  # the long form is `tests/evidence/fleet_simulator.py --seeds 10000`

failure = fleet_simulator.first_failure(fleet_simulator.honest, SEEDS)
if failure:
    print(f"seed {failure[0]}: {failure[1]}")
missed = [name for name, script in fleet_simulator.FAULTS.items() if fleet_simulator.first_failure(script, SEEDS) is None]
if missed:
    print(f"seeded faults that were not found: {', '.join(missed)}")
# One seed, one history.
for seed in (3, 95):
    histories = []
    for _ in range(2):
        world = fleet_simulator.World(seed, fleet_simulator.honest)
        world.run()
        histories.append((world.now, world.count, sorted(world.store.files.items())))
    if histories[0] != histories[1]:
        print(f"seed {seed} is not repeatable")
        missed.append("repeatable")
sys.exit(1 if failure or missed else 0)
