import { listLedgerIds } from '../../db/chain/ledger-snapshot.ts'
import { withClient } from '../../db/connect/client.ts'
import type { DatabaseOrUrl } from '../../db/connect/connection.ts'
import { checkSchema } from '../../db/schema/migrate.ts'
import { getNoteKeySecret, listServerKeySecrets } from '../../db/schema/server-keys.ts'
import { formatId } from '../../proof/ids.ts'
import type { MasterKey } from '../../signing/master-key.ts'
import { database } from '../../verify/database.ts'
import type { VerifyReport } from '../../verify/report.ts'
import { verifyLedger } from '../../verify/verify-ledger.ts'
import type { StoredCheckpoints } from '../checkpoints/stored-checkpoints.ts'

export type RestoredLedger = {
  readonly ledger: string
  /** Size of the stored checkpoint. null if no checkpoint was stored. */
  readonly storedSize: number | null
  /** Result of the verification. null if the ledger is missing in the database. */
  readonly report: VerifyReport | null
}

type Options = {
  /** The login of the database's owner. It can read every table. The check writes nothing. */
  readonly owner: DatabaseOrUrl
  readonly storedCheckpoints: StoredCheckpoints
  /** The master key of the deployment. null if the keys in the database are not to be checked. */
  readonly masterKey: MasterKey | null
}

/**
 * Checks that a restored database is the one that was lost, before anybody uses it. Checks the schema version and the
 * master key. Verifies each ledger from its first entry, against the checkpoint that is stored outside Postgres.
 *
 * Yields the ledgers one by one, and the missing ledgers last. Throws if the database as a whole is unusable.
 */
export async function* checkRestored({
  owner,
  storedCheckpoints,
  masterKey,
}: Options): AsyncGenerator<RestoredLedger> {
  const ledgers = await withClient(owner, async (client) => {
    await checkSchema(client)
    if (masterKey) {
      await getNoteKeySecret(client, masterKey)
      await listServerKeySecrets(client, masterKey, 'envelope')
    }
    return (await listLedgerIds(client)).map((ledgerId) => formatId('led', ledgerId))
  })
  const storedSizes = new Map(
    storedCheckpoints.all.map(({ ledger, checkpoint }) => [ledger, checkpoint.size]),
  )
  for (const ledger of ledgers) {
    const note = await storedCheckpoints.findNote(ledger)
    const report = await verifyLedger(database(owner, ledger), {
      checkpoints: note === null ? [] : [note],
      // If a checkpoint is stored, old entries that come after it are only a notice, not a fault. The database may have
      // been lost while no worker was running. In that case no checkpoint was signed for these entries.
      lateTail: note === null ? 'refused' : 'noticed',
    })
    yield { ledger, storedSize: storedSizes.get(ledger) ?? null, report }
    storedSizes.delete(ledger)
  }
  for (const [ledger, keptSize] of storedSizes) yield { ledger, storedSize: keptSize, report: null }
}
