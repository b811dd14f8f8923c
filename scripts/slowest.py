"""Prints the 20 slowest tests of JUnit files, and how many ran: `slowest.py FILE ...`."""

import sys
import xml.etree.ElementTree as ElementTree

tests = []
for path in sys.argv[1:]:
    try:
        root = ElementTree.parse(path).getroot()
    except FileNotFoundError:
        continue
    for suite in root.iter("testsuite"):
        for case in suite.iter("testcase"):
            tests.append((float(case.get("time", 0)), f"{suite.get('name')} {case.get('name')}"))

total_s = sum(seconds for seconds, _ in tests)
print(f" seconds  the slowest of {len(tests)} tests, which took {total_s:.0f} s of their own")
for seconds, name in sorted(tests, reverse=True)[:20]:
    print(f"{seconds:8.1f}  {name}")
