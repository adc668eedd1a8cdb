import type { MasterKey } from '../signing/master-key.ts'
import { makeMasterKeys } from '../signing/master-keys.ts'
import { type Config, required } from './config.ts'

/**
 * Returns the master key. Includes the previous master key during a change of keys. Throws if the master key is not
 * configured. `use`: purpose of the key, for the error's text.
 */
export function getMasterKey(config: Config, use: string): MasterKey {
  return makeMasterKeys(required(config.masterKey, 'TALLYSTICK_MASTER_KEY', use), config.previousMasterKey)
}
