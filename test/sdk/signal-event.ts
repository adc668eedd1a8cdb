import type { SignalEvent } from '../../sdk/verify/index.ts'
import { parseEnvelope } from '../../src/proof/envelope/cose.ts'
import { parseStatement } from '../../src/proof/statement/statement.ts'

type Entry = {
  readonly seq: number
  readonly leaf: string
  readonly chain: string
  readonly envelope: string
}

export function signalEventOf({ seq, leaf, chain, envelope }: Entry): SignalEvent {
  const { payload } = parseEnvelope(Buffer.from(envelope, 'base64'))
  const { ledger, kind, subjects, predicate, recordedAt } = parseStatement(payload)
  const { record: id, version, to: state, signal } = predicate
  return {
    type: 'signal.emitted',
    timestamp: recordedAt,
    data: {
      ledger,
      record: { id, type: 'task/1', state, version },
      entry: { seq, kind, leaf, chain },
      subjects,
      predicate,
      signal,
      envelope,
    },
  } as unknown as SignalEvent
}
