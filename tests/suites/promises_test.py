"""What is promised at the terminal: limits that hold, exit codes, errors before any work, answers to Ctrl-C."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import helper

import _paths  # noqa: F401
import programs
import small_models as small

isomer = programs.program("isomer")
SLACK = 6  # seconds beyond what is promised: the machine may be busy, and a test is no measurement


class Promises(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="isomer_promises_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.out = self.path / "out.onnx"

    def save(self, made, name="in.onnx"):
        onnx.save(made, self.path / name)
        return str(self.path / name)

    def isomer(self, *arguments, code=0, timeout=300, **more):
        start = time.monotonic()
        ran = subprocess.run([isomer, *arguments], capture_output=True, text=True, timeout=timeout, **more)
        ran.seconds = time.monotonic() - start
        self.assertEqual(ran.returncode, code, f"{arguments}: {ran.stdout}{ran.stderr}")
        return ran

    def optimize(self, source, *flags, code=0, **more):
        ran = self.isomer("optimize", source, "-o", str(self.out), "--quiet", "--json", *flags, code=code, **more)
        answer = json.loads(ran.stdout)
        answer["wall"] = ran.seconds
        return answer

    def left_behind(self):
        return [p.name for p in self.path.iterdir() if p.name.startswith(".isomer")]


class Budget(Promises):
    def test_bounds_the_whole_run(self):
        source = self.save(small.branches(1, blocks=6, channels=64, size=56))
        for budget in (4, 8):
            answer = self.optimize(source, "--budget", f"{budget}s")
            self.assertLessEqual(answer["wall"], 1.1 * budget + 2 + SLACK)
            self.assertEqual(self.left_behind(), [])
            self.isomer("check", source, str(self.out), f"{self.out}.cert")

    def test_that_is_too_short_is_said_to_be(self):
        answer = self.optimize(self.save(small.branches(1, blocks=6, channels=64, size=56)), "--budget", "1s")
        if answer["result"] == "unchanged":
            self.assertIn("time ran out", answer["reason"])
            self.assertIn("--budget", answer["reason"])
            self.assertEqual(answer["stopped_by"], "budget")

    def test_that_is_long_enough_is_not_said_to_be_short(self):
        answer = self.optimize(self.save(small.plain(1)), "--budget", "60s")
        self.assertEqual((answer["result"], answer["stopped_by"]), ("unchanged", "done"))
        self.assertNotIn("time ran out", answer["reason"])
        self.assertLess(answer["wall"], 60)

    def test_holds_without_measuring(self):
        source = self.save(small.branches(1, blocks=6, channels=64, size=56))
        self.assertLessEqual(self.optimize(source, "--judge", "cost", "--budget", "2s")["wall"], 2 * 1.1 + 2 + SLACK)


class Interrupt(Promises):
    def interrupted(self, delay, source, *flags, again=None):
        child = subprocess.Popen([isomer, "optimize", source, "-o", str(self.out), "--budget", "120s", *flags],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(delay)
        child.send_signal(signal.SIGINT)
        start = time.monotonic()
        if again is not None:
            time.sleep(again)
            child.send_signal(signal.SIGINT)
        answer, errors = child.communicate(timeout=100)
        return child.returncode, answer, errors, time.monotonic() - start

    def test_ends_soon_with_a_valid_result(self):
        source = self.save(small.branches(1, blocks=6, channels=64, size=56))
        for delay in (0.3, 1.5, 6):
            code, answer, errors, seconds = self.interrupted(delay, source, "--json")
            self.assertEqual(code, 0, errors)
            self.assertLessEqual(seconds, 3 + SLACK)
            self.assertIn(json.loads(answer)["stopped_by"], ("interrupt", "done"))
            self.isomer("check", source, str(self.out), f"{self.out}.cert")
            self.assertEqual(self.left_behind(), [])

    def test_is_answered_at_once(self):
        source = self.save(small.branches(1, blocks=6, channels=64, size=56))
        _, answer, errors, _ = self.interrupted(1.5, source)
        self.assertIn("isomer: finishing: ", errors)
        self.assertIn("again to quit", errors)
        self.assertIn("Ctrl-C", answer)

    def test_twice_quits(self):
        source = self.save(small.branches(1, blocks=6, channels=64, size=56))
        code, answer, _, _ = self.interrupted(1.0, source, again=0.05)
        self.assertIn(code, (-signal.SIGINT, 0))  # it may have been done by then
        if code != 0:
            self.assertFalse(self.out.exists())


class Limits(Promises):
    def test_of_size_is_obeyed_to_the_byte(self):
        source = self.save(small.branches(1, channels=64, size=56))
        before = os.path.getsize(source)
        for growth in ("1.0", "1.05"):
            answer = self.optimize(source, "--judge", "any", "--max-size-growth", growth)
            self.assertLessEqual(answer["bytes_out"], before * float(growth))
            self.assertEqual(answer["bytes_out"], os.path.getsize(self.out))

    def test_a_gain_that_is_asked_for_and_not_there_is_exit_4_and_no_file(self):
        ran = self.isomer("optimize", self.save(small.plain(1)), "-o", str(self.out), "--budget", "20s", "--require-gain", code=4)
        self.assertRegex(ran.stderr, r"isomer: no gain: [^\n]+\n\Z")
        self.assertFalse(self.out.exists())
        self.assertFalse(pathlib.Path(f"{self.out}.cert").exists())

    def test_min_gain_is_what_a_result_must_exceed(self):
        source = self.save(small.branches(1, blocks=4))
        answer = self.optimize(source, "--budget", "20s", "--min-gain", "50")
        self.assertEqual((answer["result"], answer["min_gain"]), ("unchanged", 50))
        if "time ran out" not in answer["reason"]:
            self.assertIn("% that a change must gain", answer["reason"])
        self.isomer("optimize", source, "-o", str(self.out), "--min-gain", "0.5", code=2)


class Errors(Promises):
    """Before any work is done, and with exit code 2."""

    def refused(self, *arguments):
        ran = self.isomer(*arguments, code=2, timeout=60)
        self.assertRegex(ran.stderr, r"\Aisomer: [^\n]+\n\Z")
        self.assertFalse(self.out.exists())
        return ran.stderr

    def test_a_place_that_cannot_be_written(self):
        source = self.save(small.branches(1))
        for out in ("/nowhere/out.onnx", str(self.path), "-"):
            self.refused("optimize", source, "-o", out)
        self.refused("optimize", source, "-o", str(self.out), "--certificate", "/nowhere/c")
        self.refused("optimize", source, "-o", str(self.out), "--log", "/nowhere/log")

    def test_more_than_one_runtime(self):
        self.assertIn("once for each", self.refused("optimize", self.save(small.plain()), "-o", str(self.out), "--runtime", "ort,openvino"))

    def test_names_that_the_runtime_does_not_know(self):
        source = self.save(small.branches(1))
        said = self.refused("optimize", source, "-o", str(self.out), "--runtime-config", "session.disable_prepackin=1")
        self.assertIn("did you mean session.disable_prepacking?", said)
        said = self.refused("bench", source, "--disable-optimizer", "ConvBNFusoin")
        self.assertIn("did you mean ConvBNFusion?", said)
        self.isomer("bench", source, "--seconds", "0.2", "--disable-optimizer", "ConvBNFusion", "--runtime-config",
                    "session.disable_prepacking=1")

    def test_words_that_nobody_knows(self):
        self.assertIn("did you mean 'optimize'?", self.refused("optimise", "a", "-o", "b"))
        self.assertIn("did you mean '--budget'?", self.refused("optimize", "a", "-o", "b", "--budgte", "5s"))
        self.assertIn("simplify, collapse", self.refused("optimize", self.save(small.plain()), "-o", str(self.out), "--without", "wishes"))

    def test_shapes_and_feeds_that_do_not_fit(self):
        source = self.save(small.branches("N"))
        for shape in ("x=1x3x28x28", "x=1x32", "z=1", "N=1x2", "N=-1", "N"):
            self.refused("optimize", source, "-o", str(self.out), "--shape", shape)
            self.refused("bench", source, "--shape", shape)
        fitting = np.zeros((1, 32, 28, 28), np.float32)
        for arrays in ({}, {"z": fitting}, {"x": fitting[0]}, {"x": fitting.astype(np.float64)}, {"x": fitting[:, :16]}):
            np.savez(self.path / "feeds.npz", **arrays)
            self.refused("optimize", source, "-o", str(self.out), "--feeds", str(self.path / "feeds.npz"))
        self.refused("optimize", source, "-o", str(self.out), "--feeds", str(self.path / "missing.npz"))

    def test_shapes_that_only_the_runtime_refuses(self):
        node = helper.make_node
        made = small.model([node("Reshape", ["x", "shape"], ["y"])], [small.integers("shape", [-1, 7])], [("x", ["N"])], [("y", ["M", 7])])
        said = self.refused("optimize", self.save(made), "-o", str(self.out), "--shape", "N=5", "--budget", "20s")
        self.assertTrue("7" in said or "reshape" in said.lower(), said)

    def test_a_library_of_operators_that_cannot_be_loaded(self):
        source = self.save(small.branches(1))
        self.refused("optimize", source, "-o", str(self.out), "--custom-op-library", "/nowhere/lib.so")
        (self.path / "lib.so").write_bytes(b"no library")
        self.refused("optimize", source, "-o", str(self.out), "--custom-op-library", str(self.path / "lib.so"))

    def test_a_model_that_the_runtime_cannot_load_comes_back_with_the_reason(self):
        made = small.plain(1)
        made.graph.node[0].op_type, made.graph.node[0].domain = "Mystery", "custom"
        made.opset_import.add(domain="custom", version=1)
        (self.path / "in.onnx").write_bytes(made.SerializeToString())
        answer = self.optimize(str(self.path / "in.onnx"), "--budget", "20s")
        self.assertEqual(answer["result"], "unchanged")
        self.assertIn("Mystery", answer["reason"])

    def test_a_missing_certificate(self):
        source = self.save(small.plain())
        self.refused("check", source, source, str(self.path / "none.cert"))
        ran = subprocess.run([programs.program("isomer-check"), source, source, str(self.path / "none.cert")], capture_output=True)
        self.assertEqual(ran.returncode, 2)
        (self.path / "bad.cert").write_text("nonsense")
        self.isomer("check", source, source, str(self.path / "bad.cert"), code=1)

    def test_an_operator_that_no_rule_can_have(self):
        (self.path / "r.rules").write_text("rule typo\ngiven float[N] x\nleft { y = Reluu(x) } => y\nright { y = Relu(x) } => y\n")
        said = self.refused("rules", "prove", str(self.path / "r.rules"))
        self.assertIn("Reluu", said)
        self.assertIn("did you mean Relu?", said)

    def test_help_of_the_checker_is_no_error(self):
        ran = subprocess.run([programs.program("isomer-check"), "--help"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("isomer-check IN OUT CERT", ran.stdout)


class Kept(Promises):
    def test_simplify_keeps_the_cleaned_graph(self):
        source = self.save(small.clutter())
        answer = self.optimize(source, "--budget", "20s", "--simplify")
        if "time ran out" in answer["reason"] or answer["result"] == "improved":
            return
        # Small as it is, it may be too noisy to be sure that it is not slower.
        if answer["result"] == "simplified":
            self.assertLess(answer["nodes_out"], answer["nodes_in"])
            self.assertEqual(len(onnx.load(self.out).graph.node), answer["nodes_out"])
            self.assertTrue(answer["reason"])
        self.isomer("check", source, str(self.out), f"{self.out}.cert")

    def test_fix_shape_makes_a_model_for_one_size(self):
        source = self.save(small.branches("N"))
        answer = self.optimize(source, "--judge", "cost", "--fix-shape", "--shape", "N=2")
        self.assertEqual(answer["fixed"], ["N=2"])
        made = onnx.load(self.out)
        for value in (made.graph.input[0], made.graph.output[0]):
            self.assertEqual([d.dim_value for d in value.type.tensor_type.shape.dim], [2, 32, 28, 28])
        self.isomer("check", source, str(self.out), f"{self.out}.cert", "--shape", "N=2")
        self.isomer("check", source, str(self.out), f"{self.out}.cert", code=1)
        checker = [programs.program("isomer-check"), source, str(self.out), f"{self.out}.cert"]
        self.assertEqual(subprocess.run([*checker, "--shape", "N=2"], capture_output=True).returncode, 0)
        self.assertEqual(subprocess.run(checker, capture_output=True).returncode, 1)


class Remembered(Promises):
    def test_comparisons_of_an_earlier_run_are_not_made_again(self):
        source, cache = self.save(small.branches(1, blocks=2)), str(self.path / "cache.sqlite")
        first = self.optimize(source, "--budget", "30s", "--cache", cache)
        self.assertEqual(first["search"]["known_measurements"], 0)
        kept = json.loads(self.isomer("cache", "--cache", cache, "--json").stdout)
        self.assertEqual(kept["place"], cache)
        again = self.optimize(source, "--budget", "30s", "--cache", cache)
        if kept["entries"] > 0:  # a machine that is busy may have had no time for any
            self.assertGreater(again["search"]["known_measurements"], 0)
        self.isomer("check", source, str(self.out), f"{self.out}.cert")
        self.assertIn(cache, self.isomer("cache", "--cache", cache).stdout)
        cleared = json.loads(self.isomer("cache", "--cache", cache, "--clear", "--json").stdout)
        self.assertEqual(cleared["entries"], 0)

    def test_nothing_is_remembered_where_nobody_wants_it(self):
        self.optimize(self.save(small.plain(1)), "--budget", "10s", "--cache", "none", env={**os.environ, "XDG_CACHE_HOME": str(self.path / "home")})
        self.assertFalse((self.path / "home" / "isomer").exists())  # the runtime keeps something there itself
        self.assertIn("there is no cache", self.isomer("cache", "--cache", "none").stdout)

    def test_a_damaged_file_is_no_obstacle(self):
        cache = self.path / "cache.sqlite"
        cache.write_bytes(b"no database" * 1000)
        self.optimize(self.save(small.branches(1)), "--budget", "10s", "--cache", str(cache))


class Shards(Promises):
    """Parts of `rules generate` make the pack of one run, and a part that is there is not made again."""

    def generate(self, name, *arguments):
        ran = self.isomer("rules", "generate", "--operators", "1", "-o", str(self.path / name), "--json", *arguments)
        return json.loads(ran.stdout)

    def test_shards_merge_to_the_bytes_of_one_run(self):
        self.generate("plain.rules", "--threads", "1")
        shards = [self.path / f"{i}.shard" for i in (1, 2, 3)]
        for i, shard in enumerate(shards, 1):
            self.assertFalse(self.generate(shard.name, "--shard", f"{i}/3")["shard"]["reused"])
        self.assertTrue(self.generate(shards[1].name, "--shard", "2/3")["shard"]["reused"])
        self.assertFalse(self.generate(shards[1].name, "--shard", "2/3", "--most-candidates", "7")["shard"]["reused"])
        self.isomer("rules", "merge", *map(str, shards), "-o", str(self.path / "mixed.rules"), code=2)  # one of another run
        shards[1].write_text(shards[1].read_text()[:-9])
        self.isomer("rules", "merge", *map(str, shards), "-o", str(self.path / "cut.rules"), code=2)
        self.assertFalse(self.generate(shards[1].name, "--shard", "2/3")["shard"]["reused"])
        self.isomer("rules", "merge", *map(str, shards), "-o", str(self.path / "merged.rules"))
        self.assertEqual((self.path / "merged.rules").read_bytes(), (self.path / "plain.rules").read_bytes())

    def test_a_shard_that_is_no_part_is_refused(self):
        for shard in ("4/3", "0/3", "1", "x/2", "1/"):
            self.isomer("rules", "generate", "-o", str(self.path / "none.rules"), "--shard", shard, code=2)


class Words(Promises):
    COMMANDS = ("bench", "check", "compare", "completion", "explain", "inspect", "man", "optimize", "propose", "prove", "rules derive", "rules generate",
                "rules list", "rules merge", "rules prove", "rules show", "run", "scan", "cache")

    def test_help_tells_the_default_of_every_option_that_takes_a_value(self):
        for command in self.COMMANDS:
            options = self.isomer(*command.split(), "--help").stdout.partition("\nOptions:\n")[2].partition("\nExit:")[0]
            for entry in re.split(r"\n  (?=-)", "\n" + options)[1:]:
                takes_a_value = re.match(r"\S+ \S", entry)
                if takes_a_value:
                    self.assertRegex(entry, r"\(default:|\(required\)", command)

    def test_the_names_of_proposers_are_listed(self):
        table = (programs.ROOT / "docs/reference/proposers.md").read_text().split("<!-- proposers -->")[1].split("<!-- /proposers -->")[0]
        names = re.findall(r"^\| `(\w+)`", table, re.M)
        self.assertGreater(len(names), 5)
        self.assertIn(", ".join(names), " ".join(self.isomer("optimize", "--help").stdout.split()))

    def test_bash_completes_commands_and_options(self):
        script = self.isomer("completion", "bash").stdout
        for words, wanted in ((["isomer", "opt"], "optimize"), (["isomer", "optimize", "--min"], "--min-gain"), (["isomer", "prove", "--sa"], "--save-input")):
            ask = f"{script}\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _isomer; echo ${{COMPREPLY[@]}}"
            self.assertEqual(subprocess.run(["bash", "-c", ask], capture_output=True, text=True).stdout.strip(), wanted)
        for shell in ("zsh", "fish"):
            self.assertIn("isomer", self.isomer("completion", shell).stdout)

    def test_every_command_has_a_manual_page(self):
        self.assertTrue(self.isomer("man").stdout.startswith(".TH isomer 1\n"))
        for command in self.COMMANDS:
            name = command.split()[0]
            self.assertTrue(self.isomer("man", name).stdout.startswith(f".TH isomer-{name} 1\n"))
        self.isomer("man", "nonsense", code=2)

    def test_quiet_says_nothing_and_a_log_everything(self):
        source, log = self.save(small.branches(1)), self.path / "log"
        ran = self.isomer("optimize", source, "-o", str(self.out), "--judge", "cost", "--quiet", "--log", str(log))
        self.assertEqual(ran.stderr, "")
        self.assertIn("proving: ", log.read_text())
        self.assertIn(ran.stdout.splitlines()[0], log.read_text())

    def test_a_certificate_of_prove_is_explained(self):
        source = self.save(small.branches(1))
        self.isomer("optimize", source, "-o", str(self.out), "--judge", "cost", "--quiet")
        os.remove(f"{self.out}.cert")
        self.isomer("prove", source, str(self.out), "--certificate", f"{self.out}.cert")
        self.assertIn("pairs of values", self.isomer("explain", f"{self.out}.cert").stdout)
        self.assertIn("pairs of values", self.isomer("check", source, str(self.out), f"{self.out}.cert").stdout)

    def test_prove_says_what_equal_means(self):
        source = self.save(small.plain(1))
        said = self.isomer("prove", source, source, "-v").stdout
        self.assertIn("B equals A if", said)
        self.assertLessEqual(max(len(line) for line in said.splitlines()), 80)


if __name__ == "__main__":
    if not os.access(isomer, os.X_OK):
        print("skipped: the command is not built")
        sys.exit(programs.SKIPPED)
    unittest.main()
