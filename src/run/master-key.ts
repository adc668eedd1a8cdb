import type { MasterKey } from '../signing/master-key.ts'
import { makeMasterKeys } from '../signing/master-keys.ts'
import { type Config, required } from './config.ts'

/**
 * Returns the master key, together with the previous one while it is replaced. Throws if the master key is not
 * configured. `use`: what the key is needed for, for the error's text.
 */
export function getMasterKey(config: Config, use: string): MasterKey {
  return makeMasterKeys(required(config.masterKey, 'TALLYSTICK_MASTER_KEY', use), config.previousMasterKey)
}
