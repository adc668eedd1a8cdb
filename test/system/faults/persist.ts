import { setTimeout as sleep } from 'node:timers/promises'

const AGAIN_AFTER_MS = 100

export class Abandoned extends Error {}

/**
 * Repeats a request while the answer is a 503 or missing, because its server may be killed and come back. Returns the
 * first other answer. The request must have an idempotency key or change nothing. Throws if no other answer came in
 * time.
 */
export async function persist<A extends { readonly status: number; readonly body: unknown }>(
  send: () => Promise<A>,
  { msMax, state }: { readonly msMax: number; readonly state: { readonly abandoned: boolean } },
): Promise<A> {
  let last: unknown
  for (const giveUpAt = Date.now() + msMax; Date.now() < giveUpAt; await sleep(AGAIN_AFTER_MS)) {
    if (state.abandoned) throw new Abandoned()
    try {
      const answer = await send()
      if (answer.status !== 503) return answer
      last = JSON.stringify(answer.body)
    } catch (error) {
      last = error
    }
  }
  throw new Error(`no answer within ${msMax} ms`, { cause: last })
}
