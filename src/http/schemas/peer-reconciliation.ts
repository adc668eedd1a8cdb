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
        'whether both sides have the same entries, according to the other side’s last summary; entries under way do not count',
      ),
    reasons: z.array(z.enum(UNRECONCILED)).describe('why the ledgers are not reconciled; empty if they are'),
    sent: z
      .strictObject({
        records: count.describe('records of this ledger that are shared with the peer'),
        entries: count.describe(
          'entries about these records, about offers of both sides, and about the peering; none about keys',
        ),
        acknowledged: count.describe('sent entries with a signed receipt stored here'),
        inFlight: count.describe(
          'sent entries without a receipt; after the peering is revoked they get none',
        ),
        deadLetters: count.describe('sent entries that the other side refused for good'),
      })
      .describe('from this server to the peer'),
    received: z
      .strictObject({
        records: count.describe('records of the other ledger'),
        entries: count,
        forks: count.describe('refused entries that contradict stored ones'),
      })
      .describe('from the peer to this server'),
    offers: z.strictObject({
      made: z
        .strictObject({ pending: count, taken: count, refused: count })
        .describe('offers by agents of this ledger'),
      answered: z
        .strictObject({ taken: count, refused: count })
        .describe('offers by agents of the other ledger'),
    }),
    summary: z
      .strictObject({
        at: instant.describe('when the summary was requested'),
        whole: z
          .boolean()
          .describe('false: the peer has more records than a summary covers; the others are not compared'),
        records: count.describe('records in the summary'),
        faults: count.describe('records with a difference that should never occur'),
        behind: count.describe('records of which one side has fewer versions'),
        differences: z
          .array(
            z.strictObject({
              record: idOf('rec'),
              difference: z
                .enum(DIFFERENCES)
                .describe(
                  'leaf: the same version is a different entry; unknown: the peer has a version of our record that our chain lacks; theirs_behind, ours_behind: that side has fewer versions',
                ),
              home: z
                .enum(['ours', 'theirs'])
                .nullable()
                .describe('null: this ledger has nothing of the record'),
              ours: held,
              theirs: held,
            }),
          )
          .max(PEER_DIFFERENCES_SHOWN_MAX)
          .describe('faults first'),
      })
      .nullable()
      .describe('the other side’s summary, compared with what is stored here now; null: not requested yet'),
    asking: z.boolean().describe('whether a new summary is being requested'),
  })
  .meta({ id: 'PeerReconciliation' })
