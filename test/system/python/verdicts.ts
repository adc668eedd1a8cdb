import { createInterface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import { main } from '../../../cli/main.ts'

class Gathered extends Writable {
  text = ''
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8')
    done()
  }
}

// Runs `tallystick` for each line of standard input, and prints a JSON line for each. An input line is a JSON list of
// arguments. One process handles thousands of files, because starting a process takes longer than verifying a small
// ledger.
for await (const line of createInterface({ input: process.stdin })) {
  const stdout = new Gathered()
  const exit = await main(JSON.parse(line), {
    stdin: Readable.from([]),
    stdout,
    stderr: new Gathered(),
  })
  process.stdout.write(`${JSON.stringify({ exit, stdout: stdout.text })}\n`)
}
