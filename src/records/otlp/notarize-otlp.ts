import { ApiError } from '../../errors.ts'
import type { Caller } from '../../ledgers/caller.ts'
import type { BuiltBatch } from '../write/build-batch.ts'
import { type BatchDeps, notarizeBatch } from '../write/notarize-batch.ts'
import type { Grouped, KnownItems } from './known-items.ts'
import { OTLP_ATTEMPTS_MAX } from './limits.ts'

/** `message`: the reasons; empty if nothing was rejected. */
export type Rejected = { readonly rejected: number; readonly message: string }

/** A decoded request: its batches, and what was rejected. */
export type OtlpRead = Rejected & {
  readonly batches: readonly { readonly built: BuiltBatch; readonly items: Grouped }[]
  /**
   * Size of the decompressed body, or of its records if that is larger. Each record includes its resource and scope.
   */
  readonly bytes: number
}

/** Reads the request again, without the given items. */
type ReadWithout = (known: Grouped) => Promise<OtlpRead>

/**
 * Notarizes the spans or logs of a request that the ledger does not have: in one signed batch, or a few if there are
 * very many. Returns what was rejected when the rest is committed. Spans whose records were erased are rejected too.
 */
export async function notarizeOtlp(
  deps: BatchDeps & { readonly knownItems: KnownItems },
  caller: Caller,
  read: OtlpRead,
  readWithout: ReadWithout,
): Promise<Rejected> {
  if (read.batches.length === 0) return read
  return deps.knownItems.whileReserved(caller, groupsOf(read), () => write(deps, caller, read, readWithout))
}

function* groupsOf({ batches }: OtlpRead): Generator<string> {
  for (const { items } of batches) yield* items.keys()
}

/** Turns a conflict into a retryable error. Exporters do not retry conflicts, and the cause is over by then. */
function orLater(error: unknown): Error {
  return error instanceof ApiError && error.code === 'state_conflict' ? tryAgain() : (error as Error)
}

function tryAgain(): ApiError {
  return new ApiError(
    'overloaded',
    'other requests wrote to the same traces meanwhile: send the request again',
    {
      retryable: true,
      retryAfterMs: 1_000,
    },
  )
}

/** Thrown if the ledger turns out to have some spans when the batch is about to be signed. */
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
      // The other batches probably have known items too, so the request is read again without all of them.
      for (const { items } of left) done.push((await deps.knownItems.find(caller, items)).repeated)
      read = await readWithout(merged(done))
    }
  }
  throw tryAgain()
}

/**
 * Returns a function for each signing of the batch. It returns a size of the ledger at which none of the items
 * existed, and throws Repeated if some do. If no group is cached, the items are usually new, and only append_entries
 * checks them: it answers stale if they are not new.
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
