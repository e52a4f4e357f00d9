/** `#sdk/rds-signer`: what of it goes into bundles. */
export { Signer } from '@aws-sdk/rds-signer';
