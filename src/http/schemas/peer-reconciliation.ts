import { z } from 'zod'
import { PEER_DIFFERENCES_SHOWN_MAX } from '../../outside/federation/limits.ts'
import { DIFFERENCES, UNRECONCILED } from '../../outside/federation/reconciliation.ts'
import { hash, idOf, instant } from './common.ts'
import { PEER_STATES } from './peers.ts'

const count = z.int().min(0)
const held = z.strictObject({ version: z.int().min(1), leaf: hash }).nullable()

export const reconciliationView = z
  .strictObject({
    peer: idOf('peer'),
    state: z.enum(PEER_STATES),
    reconciled: z
      .boolean()
      .describe(
        'what both hold is the same, by what the other side last said; what is on its way is no fault',
      ),
    reasons: z.array(z.enum(UNRECONCILED)).describe('why it is not; none where it is'),
    sent: z
      .strictObject({
        records: count.describe('of this ledger, shared with the peer'),
        entries: count.describe(
          'about them, about offers of ours and answers to theirs, and about the peering; not about keys',
        ),
        acknowledged: count.describe('of these, those with a signed receipt that is kept here'),
        inFlight: count.describe('without a receipt; of a revoked peering: will not come any more'),
        deadLetters: count.describe('of these, refused by the other side for good'),
      })
      .describe('from here to there'),
    received: z
      .strictObject({
        records: count.describe('of the other ledger'),
        entries: count,
        forks: count.describe('entries that contradict what is held, and were refused'),
      })
      .describe('from there to here'),
    offers: z.strictObject({
      made: z
        .strictObject({ pending: count, taken: count, refused: count })
        .describe('by agents of this ledger'),
      answered: z.strictObject({ taken: count, refused: count }).describe('of agents of the other ledger'),
    }),
    summary: z
      .strictObject({
        at: instant.describe('when the other side was asked'),
        whole: z
          .boolean()
          .describe('false: it holds more records than are asked for; the others are not compared'),
        records: count.describe('that it named'),
        faults: count.describe('records that differ as they never should'),
        behind: count.describe('records of which one side holds less'),
        differences: z
          .array(
            z.strictObject({
              record: idOf('rec'),
              difference: z
                .enum(DIFFERENCES)
                .describe(
                  'leaf: the same version is another entry; unknown: of our record it holds what our chain does not; theirs_behind, ours_behind: one side holds less',
                ),
              home: z.enum(['ours', 'theirs']).nullable().describe('null: nothing of the record is here'),
              ours: held,
              theirs: held,
            }),
          )
          .max(PEER_DIFFERENCES_SHOWN_MAX)
          .describe('faults first'),
      })
      .nullable()
      .describe(
        'what the other side said that it holds, against what is here now; null: it was not asked yet',
      ),
    asking: z.boolean().describe('the other side is being asked anew'),
  })
  .meta({ id: 'PeerReconciliation' })
