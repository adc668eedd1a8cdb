import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from '../../helpers/app.ts'
import { buildTestApp, type TestApp } from '../../helpers/app.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { endsWithTests } from '../../helpers/children.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { PROJECT_DIR } from '../deployment/installation.ts'
import { startWorkerOn } from '../deployment/test-deployment.ts'

type Ended = { readonly code: number | null; readonly output: string }
export type Running = {
  /** Resolves as soon as the text is printed. Rejects if the process ends earlier. */
  says(text: string): Promise<void>
  readonly ended: Promise<Ended>
}

/** A folder in the state after `npm start`, with server and worker. Its functions run examples in the folder. */
export type Project = {
  readonly app: TestApp
  readonly url: string
  readonly apiKey: string
  readonly folder: string
  start(example: string, args?: readonly string[], env?: Record<string, string>): Running
  run(example: string, args?: readonly string[], env?: Record<string, string>): Promise<Ended>
}

export async function openProject(t: Test, environment: Record<string, string> = {}): Promise<Project> {
  const app = await buildTestApp(t, { environment })
  const url = await app.app.listen({ port: 0, host: '127.0.0.1' })
  await startWorkerOn(t, app.database, { env: environment })

  const apiKey = app.ledger.key.key
  const folder = temporaryDir()
  mkdirSync(join(folder, '.tallystick'))
  const kept = JSON.stringify({ url, key: apiKey })
  writeFileSync(join(folder, '.tallystick', 'credentials.json'), kept, { mode: 0o600 })

  const start: Project['start'] = (example, args = [], env = {}) =>
    startExample({ folder, example, args, env })
  return { app, url, apiKey, folder, start, run: (...given) => start(...given).ended }
}

type ExampleRun = { folder: string; example: string; args: readonly string[]; env: Record<string, string> }

function startExample({ folder, example, args, env }: ExampleRun): Running {
  const child = endsWithTests(
    spawn(process.execPath, [join(PROJECT_DIR, 'examples', example, 'main.ts'), ...args], {
      cwd: folder,
      env: { ...bareEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
  let output = ''
  const heard: (() => void)[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
      for (const check of heard) check()
    })
  }
  const ended = once(child, 'close').then(([code]): Ended => ({ code, output }))
  return {
    ended,
    says: (text) =>
      new Promise((resolve, reject) => {
        const check = () => output.includes(text) && resolve()
        heard.push(check)
        check()
        void ended.then(() => reject(new Error(`ended without saying ${JSON.stringify(text)}:\n${output}`)))
      }),
  }
}
