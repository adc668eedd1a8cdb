export const QUICK_RETRIES = { retriesMax: 3, delayMsMin: 1, delayMsMax: 4 }
