// Stands for a script of Node: starts the Python of PINYON_PYTHON with the same arguments and streams.
import { spawn } from "node:child_process";

const child = spawn(process.env.PINYON_PYTHON, ["-m", "pinyon", ...process.argv.slice(2)], { stdio: "inherit" });
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => process.exit(signal ? 1 : code));
