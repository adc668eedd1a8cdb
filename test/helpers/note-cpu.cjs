// Loaded by every process of a test run (run.ts). Records the CPU time of the process at its exit.
const { appendFileSync } = require('node:fs')
const startedAt = performance.now()
process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  const line = [
    process.pid,
    process.ppid,
    process.argv[1],
    (userCPUTime + systemCPUTime) / 1_000,
    performance.now() - startedAt,
  ]
  try {
    appendFileSync(process.env.TALLYSTICK_TEST_CPU, `${JSON.stringify(line)}\n`)
  } catch {
    // The run has ended, and its folder is removed.
  }
})
