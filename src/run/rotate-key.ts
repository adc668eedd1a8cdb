import { withOwner } from '../db/connect/client.ts'
import { startRotation } from '../db/schema/rotation.ts'
import { toHex } from '../signing/text-of-bytes.ts'
import { isDay } from '../verify/is-day.ts'
import { readConfig } from './config.ts'
import { getMasterKey } from './master-key.ts'
import { getOwnerDatabase } from './owner-database.ts'
import { runsToEnd } from './run-to-end.ts'

const HELP = `  --compromised-at TIME  also declare the current keys compromised since TIME (RFC 3339, UTC)
  --force                rotate although an earlier rotation is not finished`

/**
 * Command `rotate-key`: uses the owner's login and makes a new envelope key. The worker moves every ledger to this key.
 */
export const main = runsToEnd(
  {
    name: 'rotate-key',
    argumentsUsage: '[--compromised-at TIME] [--force]',
    help: HELP,
    options: { 'compromised-at': { type: 'string' }, force: { type: 'boolean', default: false } },
  },
  async (values) => {
    const compromisedAt = parseTime(values['compromised-at'])
    const config = readConfig()
    const owner = getOwnerDatabase(config)
    const masterKey = getMasterKey(config, 'this key seals the new signing key')
    const { oldKids, newKid } = await withOwner(owner, (client) =>
      startRotation(client, masterKey, { compromisedAt, force: values.force }),
    )
    for (const kid of oldKids) console.log(`old key  ${toHex(kid)}${compromisedAt ? '  compromised' : ''}`)
    console.log(`new key  ${toHex(newKid)}`)
    console.log(
      'The worker now moves every ledger to the new key, then retires the old one. This takes about two minutes, longer for\n' +
        'ledgers that are closed. Nothing needs a restart. A ledger or a bundle is still verified with the first key of the\n' +
        'ledger. Give the new key to everybody who verifies proofs or signals: these name the key that signed.',
    )
  },
)

function parseTime(text: string | undefined): Date | null {
  if (text === undefined) return null
  const time = new Date(text)
  const isTime =
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/.test(text) && !Number.isNaN(time.getTime())
  // The day is checked too, because Date reads 30 February as 2 March. The key would then be trusted for two days more
  // than intended.
  if (!isTime || !isDay(text.slice(0, 10))) {
    throw new Error(`--compromised-at ${text} is not a time such as 2026-11-20T12:00:00Z`)
  }
  if (time.getTime() > Date.now()) throw new Error(`--compromised-at ${text} is in the future`)
  return time
}
