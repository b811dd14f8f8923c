"""Imports every module of the generated client, and compares what there is with the description."""

import importlib
import json
import pkgutil
import sys

work = sys.argv[1]
sys.path.insert(0, work)
description = json.load(open(f"{work}/openapi.json"))
package = importlib.import_module("x811_client")
names = [module.name for module in pkgutil.walk_packages(package.__path__, "x811_client.")]
for name in names:
    importlib.import_module(name)

operations = [
    operation["operationId"]
    for path in description["paths"].values()
    for operation in path.values()
]
functions = [name for name in names if name.count(".") == 3]
if len(functions) != len(operations):
    sys.exit(f"{len(operations)} operations and {len(functions)} modules: {functions}")

models = importlib.import_module("x811_client.models")
payloads = [name for name in description["components"]["schemas"] if name.endswith("Payload")]
missing = [name for name in payloads if name not in ("Payload",) and not hasattr(models, name)]
if missing:
    sys.exit(f"no model of {missing}")
for name in payloads:
    for example in description["components"]["schemas"][name].get("examples", []):
        model = getattr(models, name)
        if model.from_dict(example).to_dict() != example:
            sys.exit(f"{name} does not keep its example")
print(f"{len(names)} modules, {len(functions)} operations, {len(payloads)} payloads")
