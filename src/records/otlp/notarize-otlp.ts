import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { BuiltBatch } from '../write/build-batch.ts'
import { type BatchDeps, notarizeBatch } from '../write/notarize-batch.ts'
import type { Grouped, KnownItems } from './known-items.ts'
import { OTLP_ATTEMPTS_MAX } from './limits.ts'

/** `message`: says why; empty if nothing was rejected. */
export type Rejected = { readonly rejected: number; readonly message: string }

/** A request as it was read: its batches, and what was not taken. */
export type OtlpRead = Rejected & {
  readonly batches: readonly { readonly built: BuiltBatch; readonly items: Grouped }[]
  /** Size of the body after decompression, or of its records, each with its resource and scope, if they are larger. */
  readonly bytes: number
}

/** Reads the request once more, without these. */
type ReadWithout = (known: Grouped) => Promise<OtlpRead>

/**
 * Notarizes the spans or logs of a request that the ledger does not have: one batch, signed once, or a few if there are very many.
 * Returns when they are committed, and what was rejected: also spans whose records were erased.
 */
export async function notarizeOtlp(
  deps: BatchDeps & { readonly knownItems: KnownItems },
  caller: Caller,
  read: OtlpRead,
  readWithout: ReadWithout,
): Promise<Rejected> {
  if (read.batches.length === 0) return read
  return deps.knownItems.holding(caller, groupsOf(read), () => write(deps, caller, read, readWithout))
}

function* groupsOf({ batches }: OtlpRead): Generator<string> {
  for (const { items } of batches) yield* items.keys()
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
  first: OtlpRead,
  readWithout: ReadWithout,
): Promise<Rejected> {
  const done: Grouped[] = []
  let read = first
  for (let attempt = 0; attempt < OTLP_ATTEMPTS_MAX; attempt++) {
    const left = [...read.batches]
    try {
      for (let batch = left.shift(); batch; batch = left.shift()) {
        const { built, items } = batch
        const { seq } = await notarizeBatch(deps, caller, built, null, unseenBefore(deps, caller, items))
        deps.knownItems.note(caller, items, seq)
        done.push(items)
      }
      return read
    } catch (error) {
      if (!(error instanceof Repeated)) throw orLater(error)
      done.push(error.items)
      // The others are likely to be known as well, and the request is read again for all of them.
      for (const { items } of left) done.push((await deps.knownItems.find(caller, items)).repeated)
      read = await readWithout(merged(done))
    }
  }
  throw tryAgain()
}

/**
 * Returns, each time that the batch is signed, a size of the ledger at which it has none of these items; throws Repeated if it has some. If no
 * group is remembered, the items are usually new, and only append_entries checks them: it finds the batch stale if they are not new.
 */
function unseenBefore(
  { knownItems }: { readonly knownItems: KnownItems },
  caller: Caller,
  items: Grouped,
): () => Promise<number> {
  let isNew = !knownItems.remembers(caller, items)
  return async () => {
    if (isNew) {
      isNew = false
      return 0
    }
    const { size, repeated } = await knownItems.find(caller, items)
    if (repeated.size > 0) throw new Repeated(repeated)
    return size
  }
}

function merged(all: readonly Grouped[]): Grouped {
  const merged = new Map<string, string[]>()
  for (const items of all)
    for (const [group, identities] of items) merged.set(group, [...(merged.get(group) ?? []), ...identities])
  return merged
}
