/*
 * Runs a command and forwards its standard input and output. Also copies the input to PREFIX.in and the output to
 * PREFIX.out. Usage: tee.ts PREFIX COMMAND…
 */
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'

const [prefix, command, ...args] = process.argv.slice(2) as [string, string, ...string[]]
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
process.stdin.pipe(createWriteStream(`${prefix}.in`))
process.stdin.pipe(child.stdin)
child.stdout.pipe(createWriteStream(`${prefix}.out`))
child.stdout.pipe(process.stdout)
child.on('exit', (code) => {
  process.exitCode = code ?? 1
  process.stdin.destroy()
})
