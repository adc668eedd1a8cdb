import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { installPythonTool } from '../../../../tools/python-tool.ts'
import { type Case, knownKeys } from './cases.ts'
import type { Verdict } from './typescript.ts'

const PACKAGE = resolve(import.meta.dirname, '../../../../python')

/*
 * The Python verifier, in a process that runs until `close`. A request has the length of its header, the header (JSON
 * with kind, trust and lengths of the parts) and the parts. An answer is one line of JSON.
 */
export class PythonVerifier {
  readonly #child: ChildProcess
  readonly #waiting: { resolve(verdict: Verdict): void; reject(error: Error): void }[] = []
  #text = ''

  constructor() {
    const pytest = installPythonTool('pytest', join(PACKAGE, 'requirements.txt'))
    this.#child = spawn(join(pytest, '../python'), ['tests/verdicts.py'], {
      cwd: PACKAGE,
      env: { ...process.env, PYTHONPATH: join(PACKAGE, 'src') },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => this.#read(text))
    this.#child.on('exit', (code) => {
      for (const { reject } of this.#waiting.splice(0))
        reject(new Error(`the Python process ended with code ${code}`))
    })
    this.#send(Buffer.from(JSON.stringify(knownKeys())), [])
  }

  ask({ kind, trust, parts }: Case): Promise<Verdict> {
    const lengths = parts.map(({ length }) => length)
    this.#send(Buffer.from(JSON.stringify({ kind, trust, lengths })), parts)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  async close(): Promise<void> {
    this.#child.stdin!.end()
    if (this.#child.exitCode === null) await once(this.#child, 'exit')
  }

  #send(header: Buffer, parts: readonly Uint8Array[]): void {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(header.length)
    this.#child.stdin!.write(Buffer.concat([length, header, ...parts]))
  }

  #read(text: string): void {
    const lines = (this.#text + text).split('\n')
    this.#text = lines.pop()!
    for (const line of lines) this.#waiting.shift()!.resolve(JSON.parse(line) as Verdict)
  }
}
