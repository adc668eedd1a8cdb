import { withOwner } from '../db/connect/client.ts'
import { readConfig, required } from './config.ts'
import { getOwnerDatabase } from './owner-database.ts'
import { resealSecrets } from './reseal.ts'
import { runsToEnd } from './run-to-end.ts'

/**
 * Command `rotate-master-key`: uses the owner's login and seals everything under TALLYSTICK_MASTER_KEY that is sealed
 * under TALLYSTICK_MASTER_KEY_PREVIOUS. Before the command is run, all servers and workers must have both keys
 * (docs/operate/secrets.md).
 */
export const main = runsToEnd(
  {
    name: 'rotate-master-key',
    help: '  It takes no arguments: the environment has both keys (docs/operate/secrets.md)',
  },
  async () => {
    const config = readConfig()
    const owner = getOwnerDatabase(config)
    const current = required(config.masterKey, 'TALLYSTICK_MASTER_KEY', 'the new master key')
    const previous = required(
      config.previousMasterKey,
      'TALLYSTICK_MASTER_KEY_PREVIOUS',
      'the master key that is replaced',
    )
    const { serverKeys, webhookSecrets, apiKeySecrets, peerKeys, archiveKeys, cursors, refused } =
      await withOwner(owner, (client) => resealSecrets(client, { previous, current }))
    if (serverKeys + webhookSecrets + apiKeySecrets + peerKeys + archiveKeys + cursors === 0) {
      console.log(
        'nothing is sealed under the previous key: remove TALLYSTICK_MASTER_KEY_PREVIOUS everywhere',
      )
    } else {
      console.log(
        `resealed: server keys ${serverKeys}, secrets of webhooks ${webhookSecrets}, secrets of API keys ${apiKeySecrets}, keys of peers ${peerKeys}, keys of archived documents ${archiveKeys}, cursors ${cursors}.\n` +
          'Run this again in a minute, because servers may have sealed more meanwhile.',
      )
    }
    if (refused > 0)
      console.log(`${refused} rows are sealed under neither key and were not changed: they cannot be used`)
  },
)
