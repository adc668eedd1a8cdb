import type { MasterKey } from '../signing/master-key.ts'
import { makeMasterKeys } from '../signing/master-keys.ts'
import { type Config, required } from './config.ts'

/**
 * Returns the master key, with the previous one while it is replaced. Throws if it is not configured; `use` is part
 * of that error.
 */
export function getMasterKey(config: Config, use: string): MasterKey {
  return makeMasterKeys(required(config.masterKey, 'TALLYSTICK_MASTER_KEY', use), config.previousMasterKey)
}
