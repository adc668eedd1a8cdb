import { signedTable } from './table.ts'

/** Evidence of the table `ledger_closures`. The entry that reopened a ledger describes the closure. */
export const CLOSURES = signedTable(
  'ledger_closures',
  `select restored_seq as seq, known_size, encode(known_chain, 'hex') as known_chain
   from tallystick.ledger_closures where ledger_id = $1 and restored_seq is not null order by restored_seq`,
  ({ kind, predicate }) => {
    if (kind !== 'ledger-restored') return []
    const { size, chain } = predicate['known'] as { size: number; chain: string }
    return [{ knownSize: size, knownChain: chain }]
  },
  () => ({}),
)
