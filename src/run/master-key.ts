import type { MasterKey } from '../signing/master-key.ts'
import { makeMasterKeys } from '../signing/master-keys.ts'
import { type Config, required } from './config.ts'

/** The master key and, while it is replaced, the previous one. Throws where there is none; `use` is a part of that error. */
export function getMasterKey(config: Config, use: string): MasterKey {
  return makeMasterKeys(required(config.masterKey, 'TALLYSTICK_MASTER_KEY', use), config.previousMasterKey)
}
