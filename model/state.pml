/* The states of everything in the model, by name, and the variables that hold them. */

#define FILINGS 2                     /* filing 0 and another filing (1) of the same mapping */
#define ATTEMPTS 4                    /* attempts 0 and 1 are filing 0's, 2 and 3 filing 1's */
#define OF(a) ((a) / 2)               /* the filing of an attempt */
#define FIRST(f) ((f) * 2)
#define OTHER(a) ((a) ^ 1)           /* the other attempt of the same submission */

/* filings.state; the names of src/domain/filing/states.ts */
#define F_NONE 0
#define F_CHECKING 1
#define F_SUBMITTING 2
#define F_PROCESSING 3
#define F_UNKNOWN 4
#define F_COLLECTING 5
#define F_CERTIFIED 6
#define F_REJECTED 7
#define F_NEEDS_CORRECTION 8
#define F_ABANDONED 9
#define ENDED(f) (fst[f] >= F_CERTIFIED)

/* filing_rows.state: one row stands for all rows of the submission */
#define R_NONE 0
#define R_PLANNED 1
#define R_SUBMITTED 2                 /* submitted or unknown */
#define R_CERTIFIED 3
#define R_ABANDONED 4                 /* abandoned after the send: stays live */
#define R_FREED 5
#define LIVE(f) (row[f] >= R_PLANNED && row[f] <= R_ABANDONED)

/* attempts.verdict */
#define A_NONE 0
#define A_OPEN 1
#define A_MARKED 2                    /* in doubt */
#define A_ACCEPTED 3
#define A_REFUSED 4
#define A_UNSENT 5
#define A_REJECTED 6                  /* accepted, and the authority reports its rows Errored */
#define A_ABSENT 7
#define NOT_FILED(a) (att[a] == A_REFUSED || att[a] == A_UNSENT || att[a] == A_ABSENT)
#define MAYBE_FILED(a) (att[a] == A_MARKED || att[a] == A_ACCEPTED)
#define ACCEPTED_OVER(a) (att[a] != A_ACCEPTED || over[a])
#define NONE_NAMED(f) (!(named[FIRST(f)] || named[FIRST(f) + 1]))
#define ONE_FOLLOWED(f) (!(ACCEPTED_OVER(FIRST(f)) && ACCEPTED_OVER(FIRST(f) + 1) && NONE_NAMED(f)))
#define ONE_REJECTED(f) (att[FIRST(f)] == A_REJECTED || att[FIRST(f) + 1] == A_REJECTED)
/* Every row of the submission has its outcome, and every request has ended. */
#define SETTLED(f) (row[f] == R_CERTIFIED || row[f] == R_FREED && ONE_REJECTED(f))
#define UNDER_WAY(a) (att[a] == A_OPEN || MAYBE_FILED(a))
#define LATEST(f) (att[FIRST(f) + 1] != A_NONE -> FIRST(f) + 1 : FIRST(f))
#define NONE_UNDER_WAY(f) (!(UNDER_WAY(FIRST(f))) && !(UNDER_WAY(FIRST(f) + 1)))
#define ONE_MARKED(f) (att[FIRST(f)] == A_MARKED || att[FIRST(f) + 1] == A_MARKED)
#define ONE_ACCEPTED(f) (att[FIRST(f)] == A_ACCEPTED || att[FIRST(f) + 1] == A_ACCEPTED)

/* an execution of the submit activity */
#define X_FREE 0
#define X_CONNECTED 1
#define X_MARKED 2
#define X_COUNTED 3                   /* its file exists */
#define X_LISTED 4
#define X_READY 5
#define X_SENT 6
#define X_ANSWERED 7                  /* holds the answer, has not stored it yet */
#define X_NOTHING_WRITTEN 8           /* knows that it wrote nothing */
#define X_DONE_ANSWER 9               /* the activity returned the answer */
#define X_DONE 10                     /* the activity returned or failed without an answer */

/* its request */
#define N_NONE 0
#define N_TRAVELLING 1
#define N_TAKEN 2                     /* taken, will become a certificate */
#define N_TAKEN_BAD 3                 /* taken, will be Errored */
#define N_REFUSED 4
#define N_LOST 5                      /* never reached the service, or was not taken */
#define N_CERTIFIED 6                 /* the certificate can be seen */
#define N_ERRORED 7                   /* the status says Errored */
#define FILED(e) (net[e] == N_TAKEN || net[e] == N_CERTIFIED)

/* a workflow run of a filing */
#define W_NONE 0
#define W_OPEN_FILING 1
#define W_OPEN_ATTEMPT 2
#define W_DISPATCH 3
#define W_SUBMITTING 4                /* the submit activity is under way */
#define W_READ_ATTEMPT 5
#define W_UNKNOWN 6                   /* outcome unknown: a person is asked, evidence gathered */
#define W_FOLLOW 7
#define W_CLOSED 8                    /* the run ended with the filing's outcome */
#define W_GONE 9                      /* terminated */

#define VOID (NE + 1)                 /* a file that says: this number was never sent */

#define LASTA(f) (f == 0 -> ATTEMPTS0 - 1 : 1 + ATTEMPTS1)
/* the number above the latest attempt's, as long as the model's bound has one */
#define NEXT(f) (att[FIRST(f) + 1] != A_NONE -> FIRST(f) + 2 : (att[FIRST(f)] != A_NONE -> FIRST(f) + 1 : FIRST(f)))
#define HAS_NEXT(f) (NEXT(f) <= LASTA(f))

/* ---- State ---------------------------------------------------------------------------------------------------- */

/* The ledger. */
#if PERMITTED > 0
bit beside;                           /* filing 1 was permitted beside filing 0 */
#define PERMITTED_BESIDE beside
#else
#define PERMITTED_BESIDE false
#endif
byte fst[FILINGS];
byte row[FILINGS];
byte att[ATTEMPTS];
bit over[ATTEMPTS];                   /* the request of its acceptance has ended, as Errored */
bit named[ATTEMPTS];                  /* its request is followed, as one that a person named */
byte snd[ATTEMPTS];                   /* the mark's sender: execution + 1, 0 none known */
bit armed[ATTEMPTS];                  /* the mark still counts for its sender */
byte sends[NE + 1];                   /* sends[n]: who took number n (execution + 1), 0 nobody */
#if RESTORES > 0
#if PERMITTED > 0
bit oBeside;
#endif
byte oFst[FILINGS]; byte oRow[FILINGS]; byte oAtt[ATTEMPTS]; bit oOver[ATTEMPTS]; bit oNamed[ATTEMPTS]; byte oSnd[ATTEMPTS]; bit oArmed[ATTEMPTS]; byte oSends[NE + 1];
#endif
#ifdef RESTORE_BOTH
byte oFile[NE + 1];
bit hold;                             /* new filings wait until the certificates were read */
#endif

/* Outside the ledger: sent/<ledgerId>/<n>. 0 missing, execution + 1, or VOID. */
byte file[NE + 1];

/* Executions and their requests. */
byte ex[NE];
byte xa[NE];                          /* the attempt */
byte xn[NE];                          /* the number that its mark took */
byte seen[NE];                        /* bit n: file n was in its listing */
bit late[NE];                         /* past the HTTP time-out + 30 s */
byte net[NE];

/* Runs. */
byte rp[FILINGS];
byte ra[FILINGS];
byte re[FILINGS];                     /* the execution that it waits for, + 1 */

/* Budgets of trouble, and what persons said wrongly. */
byte ops = OPS;
byte wrong;
byte copied;                        /* 0 none taken, 1 taken, 2 restored */

/* One step of a run that a stale worker repeats late. */
#define G_NONE 0
#define G_OPEN_ATTEMPT 1
#define G_READ_ATTEMPT 2
#define G_NOT_FILED 3
#define G_ABANDON 4
#define G_SETTLE 5
#define G_USED 6
byte repeat; byte repeatArg; byte repeatMark;   /* repeatMark: the mark that a person's answer is about */

byte i, j;
