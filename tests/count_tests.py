"""script/count-tests tells passed, failed, skipped on purpose and never started apart, and an empty run is a failure."""

import os
import subprocess
import sys
import tempfile

SRC = os.environ["LAMELLA_SRC"]
PASSED = '<testcase name="a" status="run"/>'
FAILED = '<testcase name="b" status="fail"><failure message="Failed"/></testcase>'
SKIPPED = '<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>'
UNBUILT = '<testcase name="d" status="notrun"><skipped message="Unable to find executable"/></testcase>'
PARTLY = '<testcase name="e" status="run"><system-out>ok    test_x\nskip  test_y: no such tool\n</system-out></testcase>'
ROWS = [
    ([PARTLY], 0, "tests: 1 passed, 0 failed, 1 skipped"),
    ([PASSED], 0, "tests: 1 passed, 0 failed, 0 skipped"),
    ([PASSED, SKIPPED], 0, "tests: 1 passed, 0 failed, 1 skipped"),
    ([PASSED, FAILED], 1, "tests: 1 passed, 1 failed, 0 skipped"),
    ([PASSED, UNBUILT], 1, "tests: 1 passed, 1 failed, 0 skipped"),
    ([], 1, "tests: 0 passed, 0 failed, 0 skipped"),
]


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "junit.xml")
        for cases, code, line in ROWS:
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"<testsuite>{''.join(cases)}</testsuite>")
            done = subprocess.run([sys.executable, f"{SRC}/script/count-tests", path], capture_output=True, text=True)
            if done.returncode != code or done.stdout.splitlines()[-1:] != [line]:
                print(f"{cases}: ended with {done.returncode}: {done.stdout}{done.stderr}")
                wrong += 1
    return 1 if wrong else 0


sys.exit(main())
