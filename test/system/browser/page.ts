/*
 * This module runs in the browser. It gets the tasks from the server of run.ts, verifies them with the published
 * verifier, and returns the results.
 */
import type * as Verify from '../../../sdk/verify/index.ts'
import type { PageResult, Task } from './tasks.ts'

const at = (path: string) => new URL(path, import.meta.url).href
const verify = (await import(at('/verify.js'))) as typeof Verify

const results: PageResult[] = []
for (const task of (await (await fetch(at('/tasks'))).json()) as Task[]) {
  const startedAt = performance.now()
  const done = await perform(task)
  results.push({ ...done, name: task.name, ms: performance.now() - startedAt })
}
await fetch(at('/results'), { method: 'POST', body: JSON.stringify(results) })

async function perform(task: Task): Promise<Pick<PageResult, 'found' | 'refused'>> {
  if (task.withoutWebCrypto) Object.defineProperty(crypto, 'subtle', { value: undefined })
  try {
    return { found: await verified(task), refused: null }
  } catch (error) {
    const { name, code, seq, message } = error as Verify.VerificationError
    return { found: null, refused: { name, code, seq, message } }
  }
}

async function verified(task: Task): Promise<object> {
  if (task.kind === 'proof') return verify.proof(task.proof, task.options)
  const open = async () => (await fetch(at(`/exports/${task.name}`))).body!
  // A file that a user chooses is a Blob; data from the network is a stream.
  const source = task.kind === 'file' ? await new Response(await open()).blob() : open
  return verify.export(source, task.options)
}
