import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { BuiltBatch } from '../build-batch.ts'
import { type BatchDeps, notarizeBatch } from '../notarize-batch.ts'
import type { Grouped, KnownItems } from './known-items.ts'
import { OTLP_ATTEMPTS_MAX } from './limits.ts'

/** A request as it was read: its batches, and what was not taken. */
export type OtlpRead = {
  readonly batches: readonly { readonly built: BuiltBatch; readonly items: Grouped }[]
  readonly rejected: number
  /** Says why; empty if nothing was rejected. */
  readonly message: string
  /** Size of the body after decompression. */
  readonly bytes: number
}

/** Reads the request once more, without these. */
type ReadWithout = (known: Grouped) => Promise<OtlpRead>

/**
 * Notarizes the spans or logs of a request that the ledger does not have: one batch, signed once, or a few if there are very many.
 * Returns when they are committed.
 */
export async function notarizeOtlp(
  deps: BatchDeps & { readonly knownItems: KnownItems },
  caller: Caller,
  read: OtlpRead,
  readWithout: ReadWithout,
): Promise<void> {
  const groups = new Set(read.batches.flatMap(({ items }) => [...items.keys()]))
  if (groups.size > 0)
    await deps.knownItems.holding(caller, groups, () => write(deps, caller, read, readWithout))
}

/** An exporter sends nothing again that is in conflict; what overtook this is over by then. */
function orLater(error: unknown): Error {
  return error instanceof ApiError && error.code === 'state_conflict' ? tryAgain() : (error as Error)
}

function tryAgain(): ApiError {
  return new ApiError('overloaded', 'others wrote to the same traces meanwhile: send the request again', {
    retryable: true,
    retryAfterMs: 1_000,
  })
}

/** Spans that are in the ledger already, found when the batch was about to be signed. */
class Repeated extends Error {
  readonly items: Grouped

  constructor(items: Grouped) {
    super()
    this.items = items
  }
}

async function write(
  deps: BatchDeps & { readonly knownItems: KnownItems },
  caller: Caller,
  read: OtlpRead,
  readWithout: ReadWithout,
): Promise<void> {
  const done = new Map<string, string[]>()
  let { batches } = read
  for (let attempt = 0; attempt < OTLP_ATTEMPTS_MAX; attempt++) {
    try {
      for (const { built, items } of batches) {
        const { seq } = await notarizeBatch(deps, caller, built, null, () => requireNew(deps, caller, items))
        deps.knownItems.note(caller, items, seq)
        addTo(done, items)
      }
      return
    } catch (error) {
      if (!(error instanceof Repeated)) throw orLater(error)
      addTo(done, error.items)
      batches = (await readWithout(done)).batches
    }
  }
  throw tryAgain()
}

/** Size of the ledger in which none of these is. Throws Repeated. */
async function requireNew(
  { knownItems }: { readonly knownItems: KnownItems },
  caller: Caller,
  items: Grouped,
): Promise<number> {
  const { size, repeated } = await knownItems.find(caller, items)
  if (repeated.size > 0) throw new Repeated(repeated)
  return size
}

function addTo(all: Map<string, string[]>, items: Grouped): void {
  for (const [group, identities] of items) {
    const known = all.get(group)
    if (known) known.push(...identities)
    else all.set(group, [...identities])
  }
}
